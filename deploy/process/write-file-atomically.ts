import { renameSync, writeFileSync } from 'node:fs'

/** Afterwards the file has exactly this content; a reader or a crash sees the old one or the new one. */
export function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
): void {
  const draft = `${path}.${process.pid}.new`
  writeFileSync(draft, content, { mode, flush: true })
  renameSync(draft, path)
}
