// Package origin knows how origins are spelled, for whoever must tell an application's own pages from those of other
// sites: the hub at every socket and stream, package web at every form. Which requests may do without one is theirs to say.
package origin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Origin is where a page comes from, in lower case and without the port that its scheme has by default.
type Origin struct {
	Scheme string // http or https; "" where any will do
	Host   string
}

// Parse takes any usual spelling: a trailing slash, upper case, an explicit default port, no scheme.
func Parse(text string) (Origin, error) {
	plain := strings.ToLower(strings.TrimSpace(text))
	bare := !strings.Contains(plain, "://")
	if bare {
		plain = "//" + plain
	}
	u, err := url.Parse(plain)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return Origin{}, fmt.Errorf("%q is no origin: write it like https://shop.example", text)
	case strings.Contains(u.Host, "*"):
		return Origin{}, fmt.Errorf("%q: list each origin, there are no patterns", text)
	case !bare && u.Scheme != "http" && u.Scheme != "https":
		return Origin{}, fmt.Errorf("%q: an origin's scheme is http or https", text)
	}
	return Origin{u.Scheme, withoutPort(u.Host, u.Scheme)}, nil
}

func withoutPort(host, scheme string) string {
	if scheme != "http" {
		host = strings.TrimSuffix(host, ":443")
	}
	if scheme != "https" {
		host = strings.TrimSuffix(host, ":80")
	}
	return host
}

// Of says whether it is that of a request's own Host.
func (o Origin) Of(host string) bool { return o.Host == withoutPort(strings.ToLower(host), o.Scheme) }

// Set is an application's public origins.
type Set map[Origin]bool

// ParseSet reads a setting; what is no origin comes back joined, under the setting's name.
func ParseSet(setting string, list []string) (Set, error) {
	set := Set{}
	var wrong []error
	for _, text := range list {
		o, err := Parse(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", setting, err))
			continue
		}
		set[o] = true
	}
	return set, errors.Join(wrong...)
}

// Has says whether an origin is among them, under its scheme or under any.
func (s Set) Has(o Origin) bool { return s[o] || s[Origin{Host: o.Host}] }
