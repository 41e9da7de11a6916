package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnCatalogue(t *testing.T) {
	c, err := openCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Products); n < 40 {
		t.Errorf("%d products, want at least 40", n)
	}
	used := map[string]bool{}
	for _, p := range c.Products {
		used[p.Picture.Shape] = true
		if n := strings.Count(p.Description, ". ") + 1; n != 2 || !strings.HasSuffix(p.Description, ".") {
			t.Errorf("%s: its description has %d sentences, want 2", p.SKU, n)
		}
		for doc := xml.NewDecoder(strings.NewReader(p.Picture.SVG())); ; {
			if _, err := doc.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: its drawing is no XML: %v", p.SKU, err)
				break
			}
		}
	}
	for name := range shapes {
		if !used[name] {
			t.Errorf("no product has the shape %q", name)
		}
	}
}

func TestCatalogueWithMistakes(t *testing.T) {
	good := `{"sku": "cup", "name": "Cup", "category": "Table", "description": "A cup.", "price": 100, "stock": 1,
		"picture": {"shape": "cup", "colours": ["#000000", "#111111", "#222222"]}}`
	for _, c := range []struct{ name, doc, want string }{
		{"good", `{"currency": "EUR", "products": [` + good + `]}`, ""},
		{"twice", `{"currency": "EUR", "products": [` + good + `,` + good + `]}`, `a second "cup"`},
		{"empty", `{"currency": "EUR", "products": []}`, "no products"},
		{"currency", `{"currency": "euro", "products": [` + good + `]}`, "three-letter"},
		{"unknown field", `{"currency": "EUR", "colour": 1, "products": [` + good + `]}`, "unknown field"},
		{"price", `{"currency": "EUR", "products": [` + strings.Replace(good, "100", "0", 1) + `]}`, "minor units"},
		{"fraction", `{"currency": "EUR", "products": [` + strings.Replace(good, "100", "1.5", 1) + `]}`, "price"},
		{"stock", `{"currency": "EUR", "products": [` + strings.Replace(good, `"stock": 1`, `"stock": -1`, 1) + `]}`, "stock -1"},
		{"sku", `{"currency": "EUR", "products": [` + strings.Replace(good, `"cup"`, `"Cup 1"`, 1) + `]}`, "lower-case"},
		{"shape", `{"currency": "EUR", "products": [` + strings.Replace(good, `"shape": "cup"`, `"shape": "dog"`, 1) + `]}`, "no shape"},
		{"colour", `{"currency": "EUR", "products": [` + strings.Replace(good, "#111111", "red", 1) + `]}`, "colour"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "catalogue.json")
			if err := os.WriteFile(path, []byte(c.doc), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := openCatalogue(path)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error = %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestMoney(t *testing.T) {
	for _, c := range []struct {
		money Money
		want  string
	}{
		{Money{0, "EUR"}, "€0.00"},
		{Money{5, "EUR"}, "€0.05"},
		{Money{1990, "GBP"}, "£19.90"},
		{Money{123456789, "USD"}, "$1,234,567.89"},
		{Money{-250, "EUR"}, "−€2.50"},
		{Money{1000, "DKK"}, "DKK 10.00"},
		{Money{1999, "EUR"}.Times(3), "€59.97"},
		{Money{}.Plus(Money{10, "EUR"}), "€0.10"},
		{Money{10, "EUR"}.Plus(Money{}), "€0.10"},
	} {
		if got := c.money.String(); got != c.want {
			t.Errorf("%+v = %q, want %q", c.money, got, c.want)
		}
	}
}
