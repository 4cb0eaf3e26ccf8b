import{f as e}from"./app-DaTtQ1X4.js";var t=4900,n=`^(Customer (not found|does not)|No affiliate|No partner-program|Duplicate trans)`,r=`Not a partner's customer, or recorded already: nothing to do.`,i=[[`curl`,`curl`],[`node`,`Node.js`],[`python`,`Python`],[`go`,`Go`],[`php`,`PHP`]];function a({origin:e,program:t}){return[`<script>window.tracker||((window.tracker=function(){tracker.q.push(arguments)}).q=[])<\/script>`,`<script async src="${e}/js/tracker.js" data-program-id="${t}"><\/script>`].join(`
`)}function o(){return`// After the signup; user.id is what you will call the customer when they pay.
tracker('signup', user.id, user.email)`}function s(e,i){let a=`${i.origin}/api/v1/track/sale`,o=i.key??`YOUR_PROGRAM_KEY`;switch(e){case`curl`:return`curl -sS ${a} \\\n  -H 'Authorization: Bearer ${o}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"transaction_id":"acme-1001","amount_cents":${t},"currency":"${i.currency}","customer_key":"user-42"}'`;case`node`:return`const response = await fetch('${a}', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${o}',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    transaction_id: order.id,
    amount_cents: order.totalCents,
    currency: '${i.currency}',
    customer_key: user.id,
  }),
})
// ${r}
const ordinary = /${n}/
const { error } = await response.json()
if (error && !ordinary.test(error.message)) throw new Error(error.message)`;case`python`:return`import re
import requests

response = requests.post(
    "${a}",
    headers={"Authorization": "Bearer ${o}"},
    json={
        "transaction_id": order.id,
        "amount_cents": order.total_cents,
        "currency": "${i.currency}",
        "customer_key": user.id,
    },
    timeout=10,
)
# ${r}
error = response.json().get("error")
if error and not re.match(r"${n}", error["message"]):
    raise RuntimeError(error["message"])`;case`go`:return`body, err := json.Marshal(map[string]any{
	"transaction_id": order.ID, "amount_cents": order.TotalCents, "currency": "${i.currency}",
	"customer_key": user.ID,
})
if err != nil {
	return err
}
request, err := http.NewRequest("POST", "${a}", bytes.NewReader(body))
if err != nil {
	return err
}
request.Header.Set("Authorization", "Bearer ${o}")
request.Header.Set("Content-Type", "application/json")
answer, err := client.Do(request)
if err != nil {
	return err
}
defer answer.Body.Close()
var result struct{ Error *struct{ Message string } }
if err := json.NewDecoder(answer.Body).Decode(&result); err != nil {
	return err
}
// ${r}
ordinary := regexp.MustCompile("${n}")
if result.Error != nil && !ordinary.MatchString(result.Error.Message) {
	return fmt.Errorf("the sale was refused: %s", result.Error.Message)
}
return nil`;case`php`:return`$request = curl_init('${a}');
curl_setopt_array($request, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ${o}',
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode([
        'transaction_id' => $order->id,
        'amount_cents' => $order->totalCents,
        'currency' => '${i.currency}',
        'customer_key' => $user->id,
    ]),
]);
$answer = curl_exec($request);
if ($answer === false) {
    throw new RuntimeException(curl_error($request));
}
// ${r}
$refusal = json_decode($answer, true)['error']['message'] ?? null;
if ($refusal !== null && !preg_match('/${n}/', $refusal)) {
    throw new RuntimeException($refusal);
}`}}var c=[`checkout.session.completed`,`checkout.session.async_payment_succeeded`,`invoice.paid`,`invoice_payment.paid`,`payment_intent.succeeded`,`charge.succeeded`,`charge.captured`,`charge.refunded`,`charge.refund.updated`,`refund.failed`,`charge.dispute.funds_withdrawn`,`charge.dispute.funds_reinstated`,`customer.subscription.created`,`customer.subscription.deleted`,`customer.updated`];function l(e){let t=`{ tracker_click_id: cookies.tracker_click_id, tracker_customer_key: user.id, program_id: '${e}' }`;return`metadata: ${t},\nsubscription_data: {\n  metadata: ${t},\n},`}function u(e,n){let r={test_mode:!0,program_id:n.program};switch(e){case`click`:return p(e,n,{affiliate_url:f(n),additional_data:r});case`lead`:return p(e,n,{customer_key:`test-user`,additional_data:r});case`sale`:return p(e,n,{transaction_id:`test-order`,amount_cents:t,currency:n.currency,customer_key:`test-user`,additional_data:r})}}function d(e){let n=(t,n)=>m(t,e,`-d "${n.replaceAll(`"`,`\\"`)}"`);return[`RUN=$(date +%s)`,`CLICK_ID=$(${m(`click`,e,`-d '${JSON.stringify({affiliate_url:f(e)})}'`)} \\\n  | sed -n 's/.*"click_id" *: *"\\([^"]*\\)".*/\\1/p')`,n(`lead`,`{"click_id":"$CLICK_ID","customer_key":"user-$RUN"}`),n(`sale`,`{"transaction_id":"order-$RUN","amount_cents":${t},"currency":"${e.currency}","customer_key":"user-$RUN"}`)].join(`
`)}var f=({domain:t,shortCode:n})=>e(t,n??`CODE_OF_A_LINK`);function p(e,t,n){return m(e,t,`-d '${JSON.stringify(n)}'`)}function m(e,{origin:t,key:n},r){return`curl -sS ${t}/api/v1/track/${e} \\\n${e===`click`?``:`  -H 'Authorization: Bearer ${n??`YOUR_PROGRAM_KEY`}' \\\n`}  -H 'Content-Type: application/json' \\\n  ${r}`}export{a,u as c,s as i,c as n,o,d as r,l as s,i as t};