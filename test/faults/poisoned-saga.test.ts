import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { eq } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import type { Poison } from '#common/isolated/testing.ts'
import { sagas } from '#common/saga/schema.ts'
import { reconcilerRows } from '#gateway/db/schema/operations.ts'
import { migratedDatabase } from '../env/migrated-database.ts'

// Goal: a saga, or a row of a reconciler, that ends its program does so at most once, is then stuck with a reason, and delays no other.

const PROGRAM = fileURLToPath(new URL('poison/process.ts', import.meta.url))
const processes: ChildProcess[] = []

afterEach(() => {
  for (const each of processes.splice(0)) each.kill('SIGKILL')
})

function begin(url: string, args: readonly string[] = [], rowPoison?: string): ChildProcess {
  const child = spawn(process.execPath, ['--max-old-space-size=128', PROGRAM, ...args], {
    env: { ...process.env, POISON_DATABASE_URL: url, ...(rowPoison && { POISON_ROW: rowPoison }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  processes.push(child)
  return child
}

const HELD_UP = 'It held up its process for 2 seconds.'
/** Why each is set aside. On a busy machine a heap may take longer to fill than a process may be held up. */
const GUILTY: Readonly<Record<Exclude<Poison, 'buffers'>, readonly string[]>> = {
  exit: ['It ended its process with code 3.'],
  throw: ['An exception escaped from it: thrown and not caught.'],
  loop: [HELD_UP],
  heap: ['Its process ran out of memory, or aborted.', HELD_UP],
}

test.each(Object.entries(GUILTY))(
  'a saga that would %s ends its program once, and is set aside',
  async (poison, reasons) => {
    const url = await migratedDatabase('poisoned_saga', 'cells')
    await using db = new Database({ url, connectionsMax: 2 })
    const first = begin(url, [poison])
    const ended = once(first, 'exit')
    await once(first.stdout!, 'data')
    // Nothing of ours ends a program that loops.
    if (poison === 'loop') first.kill('SIGKILL')
    await ended

    const second = begin(url)

    const rows = () =>
      db.orm.select({ subject: sagas.subject, state: sagas.state, why: sagas.why }).from(sagas)
    const innocent = { subject: 'innocent', state: 'done', why: null }
    await expect
      .poll(async () => new Set(await rows()), { timeout: 60_000 })
      .toEqual(
        new Set([innocent, { subject: poison, state: 'stuck', why: expect.toBeOneOf(reasons) }]),
      )
    expect([second.exitCode, second.signalCode]).toEqual([null, null])
  },
  120_000,
)

test.each(Object.entries(GUILTY).filter(([poison]) => poison === 'throw' || poison === 'loop'))(
  'a row of a reconciler that would %s ends its program once, and is set aside',
  async (poison, reasons) => {
    const url = await migratedDatabase('poisoned_row', 'gateway')
    await using db = new Database({ url, connectionsMax: 2 })
    const first = begin(url, [], poison)
    const ended = once(first, 'exit')
    const output = text(first)
    await expect.poll(() => output.join(''), { timeout: 60_000 }).toContain(`${poison} taken`)
    // Nothing of ours ends a program that loops.
    if (poison === 'loop') first.kill('SIGKILL')
    await ended

    const second = begin(url, [], poison)

    const rows = () =>
      db.orm
        .select({ row: reconcilerRows.rowId, why: reconcilerRows.why })
        .from(reconcilerRows)
        .where(eq(reconcilerRows.state, 'stuck'))
    await expect
      .poll(rows, { timeout: 60_000 })
      .toEqual([{ row: poison, why: expect.toBeOneOf(reasons) }])
    const again = text(second)
    await expect.poll(() => again.join(''), { timeout: 60_000 }).toContain('innocent taken')
    expect([second.exitCode, second.signalCode]).toEqual([null, null])
  },
  120_000,
)

/** What a program says, as it comes. */
function text({ stdout }: ChildProcess): readonly string[] {
  const messages: string[] = []
  stdout!.on('data', (chunk: Buffer) => messages.push(chunk.toString()))
  return messages
}
