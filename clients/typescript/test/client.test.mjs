// Against a server that runs: FOOTNOTES_ADDRESS names it. `make try-typescript` starts one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Footnotes, FootnotesError } from "../dist/index.js";

const library = new Footnotes(process.env.FOOTNOTES_ADDRESS);
const TEXT = "Either side may end the contract with three months of notice. Every employee has 28 days of paid leave.";

test("a text is added, found, asked about, quoted and deleted", async () => {
  const job = await library.addText(TEXT, "handbook.txt", { collection: "staff", source: "test:handbook" });
  assert.equal(job.state, "ready");
  const found = await library.search("paid leave", { limit: 3, collection: "staff" });
  assert.equal(found.hits[0].filename, "handbook.txt");
  const answer = await library.ask("How many days of paid leave has an employee?");
  const [cited] = answer.citations;
  assert.equal(await library.text(cited.document_id, cited.start, cited.end), cited.quote);
  const events = [];
  for await (const event of library.askStream("How many days of paid leave has an employee?")) events.push(event);
  assert.equal(events.at(-1).type, "done");
  assert.equal(events.filter((event) => event.type === "token").map((event) => event.text).join(""), answer.answer);
  const [document] = await library.documents({ collection: "staff" });
  assert.deepEqual(await library.delete(document.id), [document.id]);
});

test("every route is typed and an error says what to do", async () => {
  const { data } = await library.http.GET("/v1/status");
  assert.equal(typeof data.chunks, "number");
  await assert.rejects(library.text("d0"), (error) => {
    assert.ok(error instanceof FootnotesError);
    assert.deepEqual([error.status, error.code], [404, "not_found"]);
    return error.remedy.length > 0;
  });
});
