import type { Equivalent } from '../equivalent.ts'

export const IN_COMMON: readonly Equivalent[] = [
  {
    file: 'common/saga/stuck.ts',
    line: 'const asked = ids.length === 0 ? [] : await select().where(inArray(sagas.id, [...ids]))',
    replacement: 'false',
    why: 'No saga has one of no ids: the line only saves the statement.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'if (seized !== undefined) this.#set(seized, clock.elapsed())',
    replacement: 'true',
    why: 'Of a lease that is not held the time of its renewal is not read.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'if (each.#lease !== leases[at]) continue',
    replacement: 'false',
    why: 'A lease that was let go meanwhile is not held, and the next hold sets its time.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'return this.#renewal === undefined && wasRequested && this.#isOlderThan(RENEWED_ALONG_AFTER)',
    replacement: 'true',
    why: 'A lease that is being renewed may be renewed twice: the line only saves that.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'const RENEWALS: Statement[] = []',
    replacement: '["Stryker was here"]',
    why: 'The first entry is of no leases, which are never renewed.',
  },
  {
    file: 'common/saga/lease.ts',
    line: 'return row === undefined ? undefined : { name, ...row }',
    replacement: 'false',
    why: 'A lease without a holder is not that of the one who asks either.',
  },
  {
    file: 'common/saga/log.ts',
    line: "{ keys: ['id'] },",
    replacement: '{}',
    why: 'The statements of several sagas are then sent one by one, with the same effect.',
  },
  {
    file: 'common/saga/log.ts',
    line: 'if (found?.is_any !== 1) return []',
    replacement: 'false',
    why: 'Where there is none, the statements that follow find none: the line only saves them.',
  },
  {
    file: 'common/saga/log.ts',
    line: 'if (found?.is_any !== 1) return []',
    replacement: 'found.is_any',
    why: 'The question is always answered with one row.',
  },
  {
    file: 'common/saga/log.ts',
    line: 'if (trusted.length > 0)',
    replacement: 'true',
    why: 'An update of no sagas changes none: the line only saves the statement.',
  },
  {
    file: 'common/saga/log.ts',
    line: 'if (trusted.length > 0)',
    replacement: 'trusted.length >= 0',
    why: 'An update of no sagas changes none: the line only saves the statement.',
  },
  {
    file: 'common/saga/execution.ts',
    line: "if (step.undo !== 'none') await step.undo(call, signal)",
    replacement: 'true',
    why: 'No remote is asked to undo a step that has no undo: the line only tells the compiler.',
  },
  {
    file: 'common/saga/execution.ts',
    line: "if (step.kind === 'remote' && step.undo !== 'none') {",
    replacement: 'true',
    why: 'A remote is asked nothing for a step that has no undo.',
  },
  {
    file: 'common/saga/execute-isolated.ts',
    line: "if (found === undefined || saga === undefined) return 'handed-over'",
    replacement: 'false',
    why: 'Where no saga is found none is known by its name either: the line only tells the compiler.',
  },
  {
    file: 'common/saga/engine.ts',
    line: 'if (released.length > 0) await releaseSagas(db, this.#lease, released)',
    replacement: 'true',
    why: 'An update of no sagas changes none: the line only saves the statement.',
  },
  {
    file: 'common/saga/engine.ts',
    line: 'if (released.length > 0) await releaseSagas(db, this.#lease, released)',
    replacement: 'released.length >= 0',
    why: 'An update of no sagas changes none: the line only saves the statement.',
  },
  {
    file: 'common/saga/engine.ts',
    line: '} finally {',
    replacement: '{}',
    why: 'A set that no look uses any more takes memory, and nothing else.',
  },
  {
    file: 'common/saga/engine.ts',
    line: 'this.#adoptions.delete(running)',
    replacement: ';',
    why: 'A set that no look uses any more takes memory, and nothing else.',
  },
  {
    file: 'common/saga/engine.ts',
    line: 'if (running !== undefined) await settledWithin(clock, LAST_STEP_MS, running)',
    replacement: 'true',
    why: 'The saga from which an exception escapes is running.',
  },
]
