import { mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { NewAuditRecord } from '../../db/audit-records.ts'
import { AuditJournal } from './audit-journal.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-journal-'))
afterAll(() => rmSync(directory, { recursive: true }))

test("another process's file is left alone while it grows, whatever its time says, and taken a minute later", async () => {
  const [other, own] = [new AuditJournal(directory), new AuditJournal(directory)]
  const file = other.begin()
  const record = { action: 'create' } as unknown as NewAuditRecord
  file.append(record)
  const [name = ''] = await readdir(directory)
  utimesSync(join(directory, name), 0, 0)

  expect(await own.leftFiles(0)).toEqual([])
  file.append(record)
  expect(await own.leftFiles(61_000)).toEqual([])
  expect(await own.leftFiles(121_000)).toEqual([])
  expect(await own.leftFiles(122_000)).toEqual([name])
  expect(await other.leftFiles(122_000)).toEqual([])
})
