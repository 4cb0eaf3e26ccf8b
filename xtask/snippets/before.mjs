const { CLICK_ID, CUSTOMER_KEY, ORDER_ID } = process.env
const cookies = { tracker_click_id: CLICK_ID }
const user = { id: CUSTOMER_KEY, email: 'jane@shop.example' }
const order = { id: ORDER_ID }
