/** “Add this page”: opened by a bookmark with an address behind the #. Nothing is sent before somebody clicks. */

const find = (id) => document.getElementById(id);
const form = find("add");
const said = find("said");

const home = `${location.origin}/add`;
find("bookmark").href = `javascript:void(window.open(${JSON.stringify(`${home}#`)}+encodeURIComponent(location.href),"_blank"))`;

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

const given = decoded(location.hash.slice(1));
if (/^https?:\/\//i.test(given)) find("address").value = given;

async function asked(path, options = {}) {
  const key = find("key").value;
  const headers = { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  const body = await answer.json();
  if (answer.status === 401) find("key-row").hidden = false;
  if (!answer.ok) throw new Error(`${body.error.message}. ${body.error.remedy}`);
  return body;
}

async function settled(id) {
  for (;;) {
    const job = await asked(`/v1/jobs/${encodeURIComponent(id)}`);
    if (job.state === "ready" || job.state === "failed") return job;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  said.textContent = "Reading the page…";
  try {
    const collection = find("collection").value.trim();
    const body = { url: find("address").value, ...(collection ? { collection } : {}) };
    const accepted = await asked("/v1/documents", { method: "POST", body: JSON.stringify(body) });
    const job = await settled(accepted.jobs[0].id);
    said.textContent = job.error ? `${job.error.message}. ${job.error.remedy}` : "Added. You can close this tab.";
  } catch (error) {
    said.textContent = error.message;
  }
});
