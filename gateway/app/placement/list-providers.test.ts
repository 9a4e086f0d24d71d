import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { addCell, globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { hostIndex } from '../../db/schema/cells.ts'
import { treePages } from './list-providers.ts'

let db: Database

beforeAll(async () => {
  db = await globalDatabase('provider_pages')
})
afterAll(() => db?.[Symbol.asyncDispose]())

test('hosts are read page by page, each once, to the last one', async () => {
  const cellId = await addCell(db, 'north')
  const views = ['a', 'b', 'c', 'd'].map((name) => sampleHost(name))
  const now = new Date()
  const rows = views.map((view) => {
    const { hostId, name, version } = view
    return { cellId, hostId, name, version, view, updatedAt: now, createdAt: now }
  })
  await db.orm.insert(hostIndex).values(rows)
  const pagesOf = async (limit: number) => {
    const pages: string[][] = []
    for await (const trees of treePages(db, limit)) pages.push(trees.map(([{ host }]) => host))
    return pages
  }

  expect(await pagesOf(3)).toEqual([['a', 'b', 'c'], ['d']])
  expect(await pagesOf(2)).toEqual([['a', 'b'], ['c', 'd'], []])
})
