import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Transactional, Tx } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import type { AuditRecord } from '../../db/audit-records.ts'
import { AuditTrail } from './audit-trail.ts'

const entry = (target: string): AuditRecord => ({
  at: new Date(),
  userId: 'u',
  userName: 'user',
  projectId: null,
  action: 'compute:lockServer',
  target,
  status: 202,
  requestId: 'r',
})

/** Remembers the targets of each commit, or fails each. */
function scripted(failure?: Error) {
  const commits: string[][] = []
  const logged: object[] = []
  const transaction = async (work: (tx: Tx) => unknown) => {
    if (failure !== undefined) throw failure
    const targets: string[] = []
    const queue = (_statement: unknown, values: Readonly<Record<string, unknown>>) =>
      targets.push(String(values['target0']))
    await work({ queue } as unknown as Tx)
    commits.push(targets)
  }
  const db = { transaction } as unknown as Transactional
  const log = { error: (fields: object) => logged.push(fields) } as unknown as Logger
  return { commits, logged, trail: new AuditTrail({ db, clock: systemClock, log }) }
}

test('whoever must not be answered before it waits for one commit, with all that gathered', async () => {
  const { commits, trail } = scripted()

  await trail.record(entry('a'), false)
  await trail.record(entry('b'), false)
  expect(commits).toEqual([])
  await trail.record(entry('c'), true)

  expect(commits).toEqual([['a', 'b', 'c']])
})

test('what has gathered is written when the gateway ends', async () => {
  const { commits, trail } = scripted()
  await trail.record(entry('a'), false)

  await trail[Symbol.asyncDispose]()

  expect(commits).toEqual([['a']])
})

test('what the database does not take is in the log, and the next is written all the same', async () => {
  const { logged, trail } = scripted(new Error('no database'))

  await trail.record(entry('a'), true)
  await trail.record(entry('b'), true)

  expect(logged).toMatchObject([
    { records: [{ target: 'a' }], error: 'no database' },
    { records: [{ target: 'b' }] },
  ])
})
