import { expect, test } from 'vitest'
import { FairQueue } from './fair-queue.ts'

function queue(waitingMax: number, waitingPerAccountMax = waitingMax) {
  const refusal = () => new Error('no place')
  return new FairQueue({ parallelMax: 1, waitingMax, waitingPerAccountMax, refusal })
}

/** Work that ends when it is told to, and in which order it began. */
class Works {
  readonly begun: string[] = []
  readonly refused: string[] = []
  readonly #ends: (() => void)[] = []
  readonly #queue: FairQueue

  constructor(of: FairQueue) {
    this.#queue = of
  }

  add(peer: string, name: string, account = name): void {
    const work = () => {
      this.begun.push(name)
      return new Promise<void>((resolve) => this.#ends.push(resolve))
    }
    this.#queue.run({ peer, account }, work).catch(() => this.refused.push(name))
  }

  async endAll(): Promise<void> {
    for (;;) {
      await new Promise(setImmediate)
      const end = this.#ends.shift()
      if (end === undefined) return
      end()
    }
  }
}

test('peers take turns, even when one of them has more waiting', async () => {
  const works = new Works(queue(10))
  for (const name of ['a1', 'a2', 'a3', 'a4']) works.add('a', name)
  works.add('b', 'b1')
  works.add('c', 'c1')

  await works.endAll()

  expect(works.begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a4'])
})

test('a full queue makes room for a peer with fewer: the last of the one with the most goes', async () => {
  const works = new Works(queue(3))
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) works.add('a', name)
  works.add('b', 'b1')
  works.add('b', 'b2')

  await works.endAll()

  expect(works.begun).toEqual(['a1', 'a2', 'b1', 'a3'])
  expect(works.refused.toSorted()).toEqual(['a4', 'a5', 'b2'])
})

test('one account does not fill the queue, from however many peers', async () => {
  const works = new Works(queue(10, 2))
  for (const peer of ['p1', 'p2', 'p3', 'p4']) works.add(peer, peer, 'alice')
  works.add('p5', 'bob')

  await works.endAll()

  expect(works.begun).toEqual(['p1', 'p2', 'p3', 'bob'])
  expect(works.refused).toEqual(['p4'])
})

test('a failure of the work is its own, and the next begins', async () => {
  const one = queue(10)
  const failing = one.run({ peer: 'a', account: 'x' }, () => Promise.reject(new Error('broken')))
  const next = one.run({ peer: 'a', account: 'y' }, () => Promise.resolve('done'))

  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('done')
})

test('a peer has no more tasks at a time than its share, and the places that it leaves go to others', async () => {
  const refusal = () => new Error('no place')
  const limits = { parallelMax: 3, parallelPerPeerMax: 2, waitingMax: 10, waitingPerAccountMax: 10 }
  const works = new Works(new FairQueue({ ...limits, refusal }))
  for (const name of ['a1', 'a2', 'a3', 'a4']) works.add('a', name)
  await new Promise(setImmediate)
  expect(works.begun).toEqual(['a1', 'a2'])

  works.add('b', 'b1')
  works.add('b', 'b2')
  await works.endAll()

  expect(works.begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
})

test('a task that leaves the queue has no turn, and makes room for another', async () => {
  const one = queue(1)
  const running = one.takeNow({ peer: 'a', account: 'a' })!
  const left = one.wait({ peer: 'b', account: 'b' })
  expect(one.hasPlace({ peer: 'c', account: 'c' })).toBe(false)
  const refused = expect(left.turn).rejects.toThrow('hung up')

  expect(left.leave(new Error('hung up'))).toBe(true)
  await refused
  expect(left.leave(new Error('again'))).toBe(false)
  const next = one.wait({ peer: 'c', account: 'c' })
  running[Symbol.dispose]()

  const place = await next.turn
  expect([one.running, one.waiting]).toEqual([1, 0])
  place[Symbol.dispose]()
  expect(one.running).toBe(0)
})
