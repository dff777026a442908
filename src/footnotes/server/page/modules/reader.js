/** Selects the reader for a document: pages for a PDF, text for everything else. */

import { pageViewer } from "./pages.js";
import { pageOf } from "./reading.js";
import { textViewer } from "./texts.js";

/** A view of a document, with `root`, and `reveal` for a place in it. */
export async function readerOf(found, span, signal, others = []) {
  const own = others.filter((one) => one.document_id === found.id && one !== span);
  if (found.mime !== "application/pdf" || !found.pages) return textViewer(found, span, signal, own);
  const page = span && !span.page ? await pageOf(found, span, signal) : span?.page;
  return pageViewer(found, span && { ...span, page }, signal, own);
}
