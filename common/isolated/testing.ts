import type { Json } from '../saga/saga.ts'

/** The ways in which a task can harm its process. */
export const POISONS = ['exit', 'throw', 'loop', 'heap', 'buffers'] as const
export type Poison = (typeof POISONS)[number]

const MEBIBYTE = 2 ** 20

/** Never settles; the process it runs in does not outlive it, or does nothing else any more. */
export function poison(kind: Poison): Promise<Json> {
  const never = new Promise<never>(() => undefined)
  if (kind === 'exit') process.exit(3)
  if (kind === 'throw')
    setTimeout(() => {
      throw new Error('thrown and not caught')
    }, 1)
  if (kind === 'loop') for (;;);
  const kept: unknown[] = []
  // In turns: on a slow machine the loop would be held up for too long before the heap is full.
  const fill = () => {
    kept.push(Array.from({ length: 100_000 }, (_, n) => ({ n })))
    setImmediate(fill)
  }
  if (kind === 'heap') fill()
  if (kind === 'buffers')
    setInterval(() => {
      for (let nth = 0; nth < 50; nth += 1) kept.push(Buffer.alloc(MEBIBYTE, 1))
    }, 1)
  return never
}
