// Talks to the server. A refusal becomes an Error whose message is the server's sentence.

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Is it still running?");
  }
  if (response.ok) return response;
  let sentence = `The server answered ${response.status}.`;
  try {
    sentence = (await response.json()).error || sentence;
  } catch { /* not JSON: keep the status */ }
  throw new Error(sentence);
}

export async function recommend(request, signal) {
  const response = await ask("v1/recommend", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
    signal,
  });
  return response.json();
}

export async function version() {
  return (await ask("v1/version")).json();
}

export async function bibtex(ids) {
  const query = new URLSearchParams(ids.map((id) => ["id", id]));
  return (await ask(`v1/bibtex?${query}`)).text();
}
