/** Snippets for advertisers, with the program's ids. */
import { linkAddress } from './link';

export interface Facts {
  /** The address of the service. */
  origin: string;
  program: number;
  domain: string | null | undefined;
  /** A sale without one is in US dollars. */
  currency: string;
  /** Of a referral link; absent while the program has none. */
  shortCode: string | undefined;
  /** The program's key, if it was shown in this tab. */
  key: string | undefined;
}

/** Placeholder for an unknown key. */
export const KEY_PLACE = 'YOUR_PROGRAM_KEY';
export const CODE_PLACE = 'CODE_OF_A_LINK';
const EXAMPLE_CENTS = 4_900;
/** Refusals that are no mistakes: most customers came without a link, and a request is sent again when its answer was lost. */
const ORDINARY = '^(Customer (not found|does not)|No affiliate|No partner-program|Duplicate trans)';
const ABOUT_ORDINARY = "Not a partner's customer, or recorded already: nothing to do.";

export type ServerLanguage = 'curl' | 'node' | 'python' | 'go' | 'php';
export const SERVER_LANGUAGES: [ServerLanguage, string][] = [
  ['curl', 'curl'],
  ['node', 'Node.js'],
  ['python', 'Python'],
  ['go', 'Go'],
  ['php', 'PHP'],
];

/** The first line queues calls until the script is loaded. */
export function script({ origin, program }: Facts): string {
  return [
    '<script>window.tracker||((window.tracker=function(){tracker.q.push(arguments)}).q=[])</script>',
    `<script async src="${origin}/js/tracker.js" data-program-id="${program}"></script>`,
  ].join('\n');
}

export function signup(): string {
  return `// After the signup; user.id is what you will call the customer when they pay.\ntracker('signup', user.id, user.email)`;
}

/** Reports a sale from the advertiser's server. */
export function sale(language: ServerLanguage, facts: Facts): string {
  const url = `${facts.origin}/api/v1/track/sale`;
  const key = facts.key ?? KEY_PLACE;
  switch (language) {
    case 'curl':
      return `curl -sS ${url} \\\n  -H 'Authorization: Bearer ${key}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"transaction_id":"acme-1001","amount_cents":${EXAMPLE_CENTS},"currency":"${facts.currency}","customer_key":"user-42"}'`;
    case 'node':
      return `const response = await fetch('${url}', {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${key}',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    transaction_id: order.id,
    amount_cents: order.totalCents,
    currency: '${facts.currency}',
    customer_key: user.id,
  }),
})
// ${ABOUT_ORDINARY}
const ordinary = /${ORDINARY}/
const { error } = await response.json()
if (error && !ordinary.test(error.message)) throw new Error(error.message)`;
    case 'python':
      return `import re
import requests

response = requests.post(
    "${url}",
    headers={"Authorization": "Bearer ${key}"},
    json={
        "transaction_id": order.id,
        "amount_cents": order.total_cents,
        "currency": "${facts.currency}",
        "customer_key": user.id,
    },
    timeout=10,
)
# ${ABOUT_ORDINARY}
error = response.json().get("error")
if error and not re.match(r"${ORDINARY}", error["message"]):
    raise RuntimeError(error["message"])`;
    case 'go':
      return `body, err := json.Marshal(map[string]any{
	"transaction_id": order.ID, "amount_cents": order.TotalCents, "currency": "${facts.currency}",
	"customer_key": user.ID,
})
if err != nil {
	return err
}
request, err := http.NewRequest("POST", "${url}", bytes.NewReader(body))
if err != nil {
	return err
}
request.Header.Set("Authorization", "Bearer ${key}")
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
// ${ABOUT_ORDINARY}
ordinary := regexp.MustCompile("${ORDINARY}")
if result.Error != nil && !ordinary.MatchString(result.Error.Message) {
	return fmt.Errorf("the sale was refused: %s", result.Error.Message)
}
return nil`;
    case 'php':
      return `$request = curl_init('${url}');
curl_setopt_array($request, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ${key}',
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode([
        'transaction_id' => $order->id,
        'amount_cents' => $order->totalCents,
        'currency' => '${facts.currency}',
        'customer_key' => $user->id,
    ]),
]);
$answer = curl_exec($request);
if ($answer === false) {
    throw new RuntimeException(curl_error($request));
}
// ${ABOUT_ORDINARY}
$refusal = json_decode($answer, true)['error']['message'] ?? null;
if ($refusal !== null && !preg_match('/${ORDINARY}/', $refusal)) {
    throw new RuntimeException($refusal);
}`;
  }
}

/** Stripe's event types for the program's endpoint. */
export const STRIPE_EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'invoice.paid',
  'invoice_payment.paid',
  'payment_intent.succeeded',
  'charge.succeeded',
  'charge.captured',
  'charge.refunded',
  'charge.refund.updated',
  'refund.failed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'customer.subscription.created',
  'customer.subscription.deleted',
  'customer.updated',
];

/** Metadata that names the customer of a Stripe checkout session; one of the two ids is enough. */
export function stripeMetadata(program: number): string {
  const metadata = `{ tracker_click_id: cookies.tracker_click_id, tracker_customer_key: user.id, program_id: '${program}' }`;
  return `metadata: ${metadata},\nsubscription_data: {\n  metadata: ${metadata},\n},`;
}

export type Noun = 'click' | 'lead' | 'sale';

/** One event in test mode, as a command for a shell. */
export function testCommand(noun: Noun, facts: Facts): string {
  const additional_data = { test_mode: true, program_id: facts.program };
  switch (noun) {
    case 'click':
      return curl(noun, facts, { affiliate_url: landing(facts), additional_data });
    case 'lead':
      return curl(noun, facts, { customer_key: 'test-user', additional_data });
    case 'sale':
      return curl(noun, facts, {
        transaction_id: 'test-order',
        amount_cents: EXAMPLE_CENTS,
        currency: facts.currency,
        customer_key: 'test-user',
        additional_data,
      });
  }
}

/** A click, a lead and a sale that count, as commands for a shell. Each run has a customer and an order of its own. */
export function realCommands(facts: Facts): string {
  const post = (noun: Noun, body: string) => request(noun, facts, `-d "${body.replaceAll('"', '\\"')}"`);
  return [
    'RUN=$(date +%s)',
    `CLICK_ID=$(${request('click', facts, `-d '${JSON.stringify({ affiliate_url: landing(facts) })}'`)} \\\n  | sed -n 's/.*"click_id" *: *"\\([^"]*\\)".*/\\1/p')`,
    post('lead', '{"click_id":"$CLICK_ID","customer_key":"user-$RUN"}'),
    post('sale', `{"transaction_id":"order-$RUN","amount_cents":${EXAMPLE_CENTS},"currency":"${facts.currency}","customer_key":"user-$RUN"}`),
  ].join('\n');
}

const landing = ({ domain, shortCode }: Facts) => linkAddress(domain, shortCode ?? CODE_PLACE);

function curl(noun: Noun, facts: Facts, body: object): string {
  return request(noun, facts, `-d '${JSON.stringify(body)}'`);
}

/** Clicks come from browsers, without a key. */
function request(noun: Noun, { origin, key }: Facts, data: string): string {
  const credential = noun === 'click' ? '' : `  -H 'Authorization: Bearer ${key ?? KEY_PLACE}' \\\n`;
  return `curl -sS ${origin}/api/v1/track/${noun} \\\n${credential}  -H 'Content-Type: application/json' \\\n  ${data}`;
}
