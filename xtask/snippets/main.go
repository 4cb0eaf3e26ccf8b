package main

import "os"

func main() {
	for _, err := range []error{
		signedUp(os.Getenv("CLICK_ID"), os.Getenv("CUSTOMER_KEY"), "jane@shop.example"),
		paid(os.Getenv("ORDER_ID"), os.Getenv("CUSTOMER_KEY"), 4900),
		refunded(os.Getenv("ORDER_ID")),
	} {
		if err != nil {
			panic(err)
		}
	}
}
