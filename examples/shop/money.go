package main

import "fmt"

// Money is an amount in minor units (cents) of one currency. It is counted in whole numbers only.
type Money struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"` // ISO 4217, of those with two decimals
}

// Times is the price of n pieces.
func (m Money) Times(n int) Money { return Money{m.Minor * int64(n), m.Currency} }

// Plus adds an amount of the same currency; a zero Money has none and takes the other's.
func (m Money) Plus(o Money) Money {
	if m.Currency == "" {
		m.Currency = o.Currency
	}
	if o.Currency != "" && o.Currency != m.Currency {
		panic(fmt.Sprintf("%s added to %s", o.Currency, m.Currency)) // the catalogue has one currency
	}
	return Money{m.Minor + o.Minor, m.Currency}
}

var symbols = map[string]string{"EUR": "€", "GBP": "£", "USD": "$"}

// String is the amount as a price tag shows it.
func (m Money) String() string {
	sign, minor := "", m.Minor
	if minor < 0 {
		sign, minor = "−", -minor
	}
	symbol, ok := symbols[m.Currency]
	if !ok && m.Currency != "" {
		symbol = m.Currency + " "
	}
	whole := fmt.Sprint(minor / 100)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return fmt.Sprintf("%s%s%s.%02d", sign, symbol, whole, minor%100)
}
