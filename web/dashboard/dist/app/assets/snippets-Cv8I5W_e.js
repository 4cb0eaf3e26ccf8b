import{m as e}from"./app-BWH-fHoN.js";var t=4900,n=[[`curl`,`curl`],[`node`,`Node.js`],[`python`,`Python`],[`go`,`Go`],[`php`,`PHP`]];function r({origin:e,program:t}){return[`<script>window.tracker||((window.tracker=function(){tracker.q.push(arguments)}).q=[])<\/script>`,`<script async src="${e}/js/tracker.js" data-program-id="${t}"><\/script>`].join(`
`)}function i(){return`// After the signup; user.id is what you will call the customer when they pay.
tracker('signup', user.id, user.email)`}function a(e,n){let r=`${n.origin}/api/v1/track/sale`,i=n.key??`YOUR_PROGRAM_KEY`;switch(e){case`curl`:return`curl -sS ${r} \\\n  -H 'Authorization: Bearer ${i}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"transaction_id":"order-1001","amount_cents":${t},"currency":"${n.currency}","customer_key":"user-42"}'`;case`node`:return`const response = await fetch('${r}', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${i}',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    transaction_id: order.id,
    amount_cents: order.totalCents,
    currency: '${n.currency}',
    customer_key: user.id,
  }),
})
// 409 says that the sale is recorded already.
if (!response.ok && response.status !== 409) throw new Error(await response.text())`;case`python`:return`import requests

response = requests.post(
    "${r}",
    headers={"Authorization": "Bearer ${i}"},
    json={
        "transaction_id": order.id,
        "amount_cents": order.total_cents,
        "currency": "${n.currency}",
        "customer_key": user.id,
    },
    timeout=10,
)
# 409 says that the sale is recorded already.
if response.status_code != 409:
    response.raise_for_status()`;case`go`:return`body, err := json.Marshal(map[string]any{
	"transaction_id": order.ID, "amount_cents": order.TotalCents, "currency": "${n.currency}",
	"customer_key": user.ID,
})
if err != nil {
	return err
}
request, err := http.NewRequest("POST", "${r}", bytes.NewReader(body))
if err != nil {
	return err
}
request.Header.Set("Authorization", "Bearer ${i}")
request.Header.Set("Content-Type", "application/json")
answer, err := client.Do(request)
if err != nil {
	return err
}
defer answer.Body.Close()
// 409 says that the sale is recorded already.
if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusConflict {
	return fmt.Errorf("the sale was answered %s", answer.Status)
}`;case`php`:return`$request = curl_init('${r}');
curl_setopt_array($request, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ${i}',
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode([
        'transaction_id' => $order->id,
        'amount_cents' => $order->totalCents,
        'currency' => '${n.currency}',
        'customer_key' => $user->id,
    ]),
]);
$answer = curl_exec($request);`}}var o=[`checkout.session.completed`,`checkout.session.async_payment_succeeded`,`invoice.paid`,`invoice_payment.paid`,`payment_intent.succeeded`,`charge.succeeded`,`charge.captured`,`charge.refunded`,`charge.refund.updated`,`refund.failed`,`charge.dispute.funds_withdrawn`,`charge.dispute.funds_reinstated`,`customer.subscription.created`,`customer.subscription.deleted`,`customer.updated`];function s(e){let t=`{ tracker_click_id: cookies.tracker_click_id, tracker_customer_key: user.id, program_id: '${e}' }`;return`metadata: ${t},\nsubscription_data: {\n  metadata: ${t},\n},`}function c(e,n){let r={test_mode:!0,program_id:n.program};switch(e){case`click`:return d(e,n,{affiliate_url:u(n),additional_data:r});case`lead`:return d(e,n,{customer_key:`test-user`,additional_data:r});case`sale`:return d(e,n,{transaction_id:`test-order`,amount_cents:t,currency:n.currency,customer_key:`test-user`,additional_data:r})}}function l(e){let n=(t,n)=>f(t,e,`-d "${n.replaceAll(`"`,`\\"`)}"`);return[`RUN=$(date +%s)`,`CLICK_ID=$(${f(`click`,e,`-d '${JSON.stringify({affiliate_url:u(e)})}'`)} \\\n  | sed -n 's/.*"click_id" *: *"\\([^"]*\\)".*/\\1/p')`,n(`lead`,`{"click_id":"$CLICK_ID","customer_key":"user-$RUN"}`),n(`sale`,`{"transaction_id":"order-$RUN","amount_cents":${t},"currency":"${e.currency}","customer_key":"user-$RUN"}`)].join(`
`)}var u=({domain:t,shortCode:n})=>e(t,n??`CODE_OF_A_LINK`);function d(e,t,n){return f(e,t,`-d '${JSON.stringify(n)}'`)}function f(e,{origin:t,key:n},r){return`curl -sS ${t}/api/v1/track/${e} \\\n${e===`click`?``:`  -H 'Authorization: Bearer ${n??`YOUR_PROGRAM_KEY`}' \\\n`}  -H 'Content-Type: application/json' \\\n  ${r}`}export{r as a,c,a as i,o as n,i as o,l as r,s,n as t};