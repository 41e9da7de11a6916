package main

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

// Picture is a product's drawing: a shape in the product's own colours.
type Picture struct {
	Shape   string    `json:"shape"`
	Colours [3]string `json:"colours"` // main, second, lines
}

// SVG is the drawing as an image file.
func (p Picture) SVG() string {
	drawing := strings.NewReplacer("{a}", p.Colours[0], "{b}", p.Colours[1], "{c}", p.Colours[2]).Replace(shapes[p.Shape])
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 180">` +
		`<ellipse cx="120" cy="154" rx="86" ry="8" fill="#000" opacity=".1"/>` + drawing + `</svg>`
}

// picture serves one product's drawing.
func (s *site) picture(w http.ResponseWriter, r *http.Request) {
	p, ok := s.catalogue.Product(chi.URLParam(r, "sku"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write([]byte(p.Picture.SVG())) // a reader that has gone away is nobody's problem
}
