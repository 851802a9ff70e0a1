// OpenFeature's server SDK against a service: node server.cjs URL KEY; prints what it found as JSON.
const { OpenFeature } = require("@openfeature/server-sdk");
const { OFREPProvider } = require("@openfeature/ofrep-provider");

const [url, key] = process.argv.slice(2);

async function main() {
  const provider = new OFREPProvider({ baseUrl: url, headers: [["Authorization", `Bearer ${key}`]] });
  await OpenFeature.setProviderAndWait(provider);
  const client = OpenFeature.getClient();
  const arm = (flag, context) => client.getStringDetails(flag, "fallback", context);
  const context = { targetingKey: "ann", environment: "monday" };
  const found = {
    first: await arm("buttons", context),
    again: await arm("buttons", { ...context, environment: "tuesday" }),
    others: [],
    paused: await arm("paused", context),
    unknown: await arm("none", context),
    nobody: await arm("buttons", {}),
    wrong: await arm("buttons", { targetingKey: "bob", environment: [1] }),
    number: await client.getNumberDetails("buttons", 7, context),
  };
  for (let i = 0; i < 20; i++) found.others.push((await arm("buttons", { targetingKey: `unit ${i}` })).value);
  console.log(JSON.stringify(found));
  await OpenFeature.close();
}

main();
