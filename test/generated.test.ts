import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderTypes } from '#openapi/generator/render-types.ts'
import { presentDocuments } from '#openapi/load-document.ts'

test.each(presentDocuments())('%s.gen.ts is what `npm run generate` writes', async (name) => {
  const path = new URL(`../openapi/${name}.gen.ts`, import.meta.url)
  expect(readFileSync(path, 'utf8')).toBe(await renderTypes(name))
})
