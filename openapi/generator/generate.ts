import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { presentDocuments } from '../load-document.ts'
import { renderTypes } from './render-types.ts'

for (const name of presentDocuments()) {
  const path = join(import.meta.dirname, '..', `${name}.gen.ts`)
  writeFileSync(path, await renderTypes(name))
  process.stdout.write(`${path}\n`)
}
