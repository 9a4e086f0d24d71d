import { describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import { InstanceLocks } from './instance-locks.ts'

const never = new AbortController().signal

describe('InstanceLocks', () => {
  const id = newId<InstanceId>()
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      const end = () => reject(signal.reason as Error)
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })

  test('work on one instance runs in the order it was asked for, also after a failure', async () => {
    const locks = new InstanceLocks()
    const order: string[] = []
    const failing = locks.run(id, never, async () => {
      order.push('first')
      throw new Error('failed')
    })
    const next = locks.run(id, never, async () => order.push('second'))

    await expect(failing).rejects.toThrow('failed')
    await next
    expect(order).toEqual(['first', 'second'])
  })

  test('work that needs no turn is left out while there is other work, and done when there is none', async () => {
    const locks = new InstanceLocks()
    const abort = new AbortController()
    const holding = locks.run(id, never, () => untilAborted(abort.signal))

    expect(await locks.runIfFree(id, never, async () => 'done')).toBeUndefined()

    abort.abort(new Error('over'))
    await expect(holding).rejects.toThrow('over')
    expect(await locks.runIfFree(id, never, async () => 'done')).toBe('done')
  })

  test('instances do not wait for each other', async () => {
    const locks = new InstanceLocks()
    const abort = new AbortController()
    const stuck = locks.run(id, never, () => untilAborted(abort.signal))

    expect(await locks.run(newId(), never, async () => 'done')).toBe('done')

    abort.abort(new Error('over'))
    await expect(stuck).rejects.toThrow('over')
  })

  test('a destroy ends running and waiting spawns, and a later spawn is not touched', async () => {
    const locks = new InstanceLocks()
    const spawns = [1, 2].map(() => locks.runPreemptible(id, never, untilAborted))
    const settled = Promise.allSettled(spawns)

    const destroyed = locks.runDestroy(id, never, async () => 'destroyed')
    const later = locks.runPreemptible(id, never, async () => 'spawned')

    expect(await destroyed).toBe('destroyed')
    expect(await later).toBe('spawned')
    for (const spawn of await settled)
      expect(spawn).toMatchObject({ status: 'rejected', reason: { kind: 'conflict' } })
  })

  test('a waiter that gives up does not hold up those behind', async () => {
    const locks = new InstanceLocks()
    const [first, second] = [new AbortController(), new AbortController()]
    const holding = locks.run(id, never, () => untilAborted(first.signal))
    const waiting = locks.run(id, second.signal, async () => 'never')
    const behind = locks.run(id, never, async () => 'done')

    second.abort(new Error('gave up'))
    await expect(waiting).rejects.toThrow('gave up')
    first.abort(new Error('over'))
    await expect(holding).rejects.toThrow('over')

    expect(await behind).toBe('done')
  })
})
