import { setTimeout as sleep } from 'node:timers/promises'
import { errorChain, Failure } from '#common/errors.ts'
import { readRelease } from '#common/release.ts'
import { type Health, type HealthSource, readHealth, whatIsWorse } from './health.ts'
import { inOrder, type Part } from './part.ts'
import { describeCode } from './running-code.ts'

export interface Rollout {
  readonly parts: readonly Part[]
  readonly health: HealthSource
  /** Computes come first, and gateways last. */
  readonly isBack: boolean
  /** For how long each new process is watched, in milliseconds. */
  readonly watchMs: number
  /** What to do to have the former release everywhere again, for people. */
  readonly howBack: string
}

const LOOK_EVERY_MS = 1_000
const NAME_WIDTH = 22

/** What an upgrade would do with each process, in its order. */
export function planLines(parts: readonly Part[], isBack: boolean): readonly string[] {
  return inOrder(parts, isBack).map((part) => {
    const code = part.code()
    if (code?.isThis === true) return line(part, `runs ${readRelease()} already`)
    const now = code === undefined ? 'does not run' : `runs ${describeCode(code)}`
    return line(part, `${now}, is replaced by ${readRelease()}`)
  })
}

/**
 * Afterwards every process runs this release. They are replaced one by one, each once the one before is ready and nothing
 * has become worse. Throws `unavailable` at the first sign of trouble, once the process that was replaced last runs what
 * it ran before, where that is still there.
 */
export async function rollOut(rollout: Rollout, report: (line: string) => void): Promise<void> {
  const parts = inOrder(rollout.parts, rollout.isBack)
  const usual = await readHealth(rollout.health)
  for (const name of usual.unreachable) report(`Cell ${name} was unreachable before.`)
  const done: string[] = []
  for (const [nth, part] of parts.entries()) {
    const code = part.code()
    if (code?.isThis === true) {
      report(line(part, `runs ${readRelease()} already`))
      continue
    }
    const from = code === undefined ? '' : `${describeCode(code)} -> `
    try {
      const tookMs = await replaced(part, rollout, usual)
      const tookS = (tookMs / 1_000).toFixed(1)
      report(line(part, `${from}${readRelease()}, ready after ${tookS} s, and well`))
      done.push(part.name)
    } catch (error) {
      const state = await putBack(part)
      const left = parts.slice(nth + 1).filter((each) => each.code()?.isThis !== true)
      throw new Failure(
        'unavailable',
        [
          `The upgrade stopped at ${part.name}: ${errorChain(error)}`,
          state,
          `Replaced: ${named(done)}. Not replaced: ${named(left.map(({ name }) => name))}.`,
          `Remove the cause and run the same command again: it goes on where it stopped. ${rollout.howBack}`,
        ].join('\n'),
      )
    }
  }
}

/** Returns after how many milliseconds it was ready. Throws at a sign of trouble. */
async function replaced(part: Part, rollout: Rollout, usual: Health): Promise<number> {
  const startedAt = performance.now()
  await part.replace()
  const readyAt = performance.now()
  const before = await readHealth(rollout.health)
  for (let now = before; ; now = await readHealth(rollout.health)) {
    await part.assertRuns()
    const worse = whatIsWorse(usual, before, now)
    if (worse !== undefined) throw new Failure('unavailable', `${worse}.`)
    if (performance.now() - readyAt >= rollout.watchMs) return readyAt - startedAt
    await sleep(Math.min(LOOK_EVERY_MS, rollout.watchMs))
  }
}

/** Says what the process runs now. */
async function putBack(part: Part): Promise<string> {
  try {
    const isBack = await part.putBack()
    const code = part.code()
    if (isBack && code !== undefined) return `${part.name} runs ${describeCode(code)} again.`
    if (code === undefined) return `${part.name} does not run now.`
    return `${part.name} runs ${describeCode(code)} now: the former release is not here any more.`
  } catch (error) {
    return `${part.name} could not be put back: ${errorChain(error)}`
  }
}

function named(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ')
}

function line({ name }: Part, what: string): string {
  return `${name.padEnd(NAME_WIDTH)} ${what}`
}
