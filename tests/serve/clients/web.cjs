// OpenFeature's web SDK against a service, which polls, or listens to its event stream:
// node web.cjs URL KEY ADMIN polling|sse NEW; creates the experiment NEW meanwhile, and prints what it found as JSON.
const { OpenFeature, ProviderEvents } = require("@openfeature/web-sdk");
const { OFREPWebProvider } = require("@openfeature/ofrep-web-provider");

const [url, key, admin, how, name] = process.argv.slice(2);
const answers = [];
globalThis.EventSource = require("eventsource").EventSource; // as browsers have it

async function counted(...request) {
  const answer = await fetch(...request);
  answers.push(answer.status);
  return answer;
}

const until = async (what) => {
  for (let i = 0; i < 200 && !what(); i++) await new Promise((done) => setTimeout(done, 25));
};

async function main() {
  const provider = new OFREPWebProvider({
    baseUrl: url,
    fetchImplementation: counted,
    pollInterval: how === "polling" ? 100 : 0,
    cacheMode: "disabled",
    changeDetection: how,
    headers: [["Authorization", `Bearer ${key}`]],
  });
  await OpenFeature.setContext({ targetingKey: "ann", environment: "monday" });
  await OpenFeature.setProviderAndWait(provider);
  const client = OpenFeature.getClient();
  const arm = (flag) => client.getStringDetails(flag, "fallback");
  let changed = null;
  client.addHandler(ProviderEvents.ConfigurationChanged, (event) => (changed = event.flagsChanged));
  const found = { first: arm("buttons"), other: arm("titles"), paused: arm("paused"), unknown: arm("none") };
  if (how === "polling") await until(() => answers.includes(304));
  found.still = arm("buttons");
  found.answers = [...answers];
  await fetch(`${url}/v1/experiments`, {
    method: "POST",
    headers: { Authorization: `Bearer ${admin}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name, arms: ["A", "B"], lease: 60, reserve: 60 }),
  });
  await until(() => changed !== null);
  found.changed = changed;
  await until(() => arm(name).value !== "fallback");
  found.new = arm(name);
  await OpenFeature.setContext({ targetingKey: "bob", environment: "monday" });
  found.bob = arm("buttons");
  console.log(JSON.stringify(found));
  await OpenFeature.close();
  process.exit(0);
}

main();
