import { Failure } from './errors.ts'

const PAUSE_FIRST_MS = 5
const PAUSE_MAX_MS = 250

/**
 * Resolves with the first truthy value of `probe`, so it waits for a level and cannot miss an edge. Throws
 * `unavailable` after `limitMs`, saying what was awaited and the last value or error seen.
 */
export async function waitFor<T>(
  description: string,
  probe: () => T | Promise<T>,
  limitMs: number,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + limitMs
  let seen: Seen<T> = { hit: false, text: 'a probe that did not return' }
  for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MAX_MS)) {
    seen = (await probeOnce(probe, deadline)) ?? seen
    if (seen.hit) return seen.value as NonNullable<T>
    const leftMs = deadline - performance.now()
    if (leftMs <= 0)
      throw new Failure(
        'unavailable',
        `Waited ${limitMs} ms for ${description}; last seen: ${seen.text}`,
        seen.cause === undefined ? {} : { cause: seen.cause },
      )
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, leftMs)))
  }
}

interface Seen<T> {
  readonly hit: boolean
  readonly value?: T
  readonly text: string
  readonly cause?: unknown
}

/** Undefined when the deadline passes first; the limit holds even if the probe hangs. */
async function probeOnce<T>(
  probe: () => T | Promise<T>,
  deadline: number,
): Promise<Seen<T> | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(deadline - performance.now(), 1))
  })
  try {
    return await Promise.race([judge(probe), timeUp])
  } finally {
    clearTimeout(timer)
  }
}

async function judge<T>(probe: () => T | Promise<T>): Promise<Seen<T>> {
  try {
    const value = await probe()
    return { hit: Boolean(value), value, text: JSON.stringify(value) ?? 'undefined' }
  } catch (error) {
    return { hit: false, text: 'an error', cause: error }
  }
}
