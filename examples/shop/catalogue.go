package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/actors"
)

//go:embed catalogue.json
var ownCatalogue []byte

// Product is one entry of the catalogue: what a shopper reads about it. How many are left is its Stock's to say.
type Product struct {
	SKU         string  `json:"sku"`
	Name        string  `json:"name"`
	Category    string  `json:"category"`
	Description string  `json:"description"`
	Minor       int64   `json:"price"` // in minor units of the catalogue's currency
	Quantity    int     `json:"stock"` // on the shelf when the shop sees the product for the first time
	Picture     Picture `json:"picture"`

	Price Money `json:"-"`
}

// Catalogue is everything the shop sells. It does not change while the shop is open.
type Catalogue struct {
	Currency string    `json:"currency"`
	Products []Product `json:"products"`

	bySKU map[string]int
}

// maxQuantity bounds what one cart may hold of one product.
const maxQuantity = 99

// maxFile bounds a catalogue file, which a person wrote.
const maxFile = 4 << 20

// openCatalogue reads the file at path, or the catalogue that comes with the shop where path is empty.
func openCatalogue(path string) (*Catalogue, error) {
	if path == "" {
		return parseCatalogue(ownCatalogue)
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	c, err := parseCatalogue(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parseCatalogue reads a catalogue and returns every mistake in it, joined.
func parseCatalogue(doc []byte) (*Catalogue, error) {
	c := &Catalogue{bySKU: map[string]int{}}
	if err := actors.DecodeStrict("catalogue", doc, c, maxFile); err != nil {
		return nil, err
	}
	var problems []error
	if !regexp.MustCompile(`^[A-Z]{3}$`).MatchString(c.Currency) {
		problems = append(problems, fmt.Errorf("currency %q is no three-letter code", c.Currency))
	}
	for i := range c.Products {
		p := &c.Products[i]
		p.Price = Money{p.Minor, c.Currency}
		if _, twice := c.bySKU[p.SKU]; twice {
			problems = append(problems, fmt.Errorf("product %d: a second %q", i+1, p.SKU))
		}
		c.bySKU[p.SKU] = i
		if err := p.check(); err != nil {
			problems = append(problems, fmt.Errorf("product %d (%q): %w", i+1, p.SKU, err))
		}
	}
	if len(c.Products) == 0 {
		problems = append(problems, errors.New("no products"))
	}
	return c, errors.Join(problems...)
}

var (
	skuFormat    = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)
	colourFormat = regexp.MustCompile(`^#[0-9a-f]{6}$`)
)

func (p *Product) check() error {
	switch {
	case !skuFormat.MatchString(p.SKU):
		return errors.New("a sku is lower-case letters, digits and inner hyphens, at most 64")
	case strings.TrimSpace(p.Name) == "" || len(p.Name) > 120:
		return errors.New("a name has 1 to 120 bytes")
	case strings.TrimSpace(p.Category) == "" || len(p.Category) > 60:
		return errors.New("a category has 1 to 60 bytes")
	case p.Minor < 1 || p.Minor > 100_000_000:
		return fmt.Errorf("price %d is not 1 to 100,000,000 minor units", p.Minor)
	case p.Quantity < 0 || p.Quantity > maxDelivery:
		return fmt.Errorf("stock %d is not 0 to %d", p.Quantity, maxDelivery)
	case shapes[p.Picture.Shape] == "":
		return fmt.Errorf("there is no shape %q", p.Picture.Shape)
	}
	for _, colour := range p.Picture.Colours {
		if !colourFormat.MatchString(colour) {
			return fmt.Errorf("colour %q is not like #a0b1c2", colour)
		}
	}
	return nil
}

// Product finds a product by its SKU.
func (c *Catalogue) Product(sku string) (Product, bool) {
	i, ok := c.bySKU[sku]
	if !ok {
		return Product{}, false
	}
	return c.Products[i], true
}

// Categories are the categories in the order of their first product.
func (c *Catalogue) Categories() []string {
	var names []string
	for _, p := range c.Products {
		if !slices.Contains(names, p.Category) {
			names = append(names, p.Category)
		}
	}
	return names
}

// Search returns the products of a category ("" is all) in which every word of text occurs.
func (c *Catalogue) Search(category, text string) []Product {
	words := strings.Fields(strings.ToLower(text))
	var found []Product
next:
	for _, p := range c.Products {
		if category != "" && p.Category != category {
			continue
		}
		about := strings.ToLower(p.Name + " " + p.Category + " " + p.Description)
		for _, word := range words {
			if !strings.Contains(about, word) {
				continue next
			}
		}
		found = append(found, p)
	}
	return found
}
