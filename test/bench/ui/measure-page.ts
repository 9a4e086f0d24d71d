import { setTimeout as sleep } from 'node:timers/promises'
import { cloudAccount } from '#deploy/deployment/clouds-file.ts'
import { Browser } from '#test/env/browser.ts'
import type { Product } from '../product.ts'
import { median } from '../statistics.ts'
import type { Federation } from './fill-federation.ts'

/** How a view opens in a browser that is signed in, from its address on, and how it moves while events come. */
export interface ViewFigures {
  /** Until the browser shows anything of the page. */
  readonly firstPaintMs: number
  /** Until what the view is about is in the page. */
  readonly completeMs: number
  /** The request that took longest until then, as its path and the time that it took. */
  readonly slowest: { readonly path: string; readonly tookMs: number }
  readonly framesPerSecond: number
  /** The longest time from one frame to the next. */
  readonly longestFrameMs: number
}

const ROUNDS = 5
const EVENTS_PER_SECOND = 100
/** In which they are written. */
const BATCHES_PER_SECOND = 20

/** Runs in the page: tells when it painted first, and when an expression about it has become true. */
const OPENED = (isComplete: string) => `new Promise((resolve) => {
  const look = () => {
    const [paint] = performance.getEntriesByName('first-contentful-paint')
    if (paint === undefined || !(${isComplete})) return requestAnimationFrame(look)
    const [slowest] = performance.getEntriesByType('resource').toSorted((a, b) => b.duration - a.duration)
    const { pathname, search } = new URL(slowest.name)
    resolve({
      firstPaintMs: paint.startTime,
      completeMs: performance.now(),
      slowest: { path: pathname + search, tookMs: slowest.duration },
    })
  }
  look()
})`

/** Runs in the page: counts frames. */
const FRAMES = (forMs: number) => `new Promise((resolve) => {
  const begun = performance.now()
  let [frames, longest, before] = [0, 0, begun]
  const count = (now) => {
    frames += 1
    longest = Math.max(longest, now - before)
    before = now
    if (now - begun < ${forMs}) return requestAnimationFrame(count)
    resolve({ framesPerSecond: (frames * 1_000) / (now - begun), longestFrameMs: longest })
  }
  requestAnimationFrame(count)
})`

/** By the name of the view. */
export async function measurePage(
  product: Product,
  federation: Federation,
  watchS: number,
): Promise<Readonly<Record<string, ViewFigures>>> {
  await using browser = await Browser.start()
  await signIn(browser, product)
  const [cell] = federation.cells
  const views = {
    overview: ['#/', `document.querySelectorAll('.tile').length > ${federation.cells.length}`],
    servers: ['#/servers', "document.querySelectorAll('tbody tr').length === 100"],
    cell: [`#/cells/${cell!.name}`, "document.querySelectorAll('.square').length > 0"],
    server: [`#/servers/${federation.servers[0]}`, "document.querySelector('dl') !== null"],
    events: ['#/events', "document.querySelectorAll('.events > li').length > 0"],
  } as const
  const figures: Record<string, ViewFigures> = {}
  await federation.change(EVENTS_PER_SECOND)
  for (const [name, [address, isComplete]] of Object.entries(views)) {
    const opened: Pick<ViewFigures, 'firstPaintMs' | 'completeMs' | 'slowest'>[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      await browser.open(`${product.origin.origin}/ui${address}`)
      await browser.until('the page', `document.querySelector('h1') !== null`)
      opened.push((await browser.value(OPENED(isComplete))) as ViewFigures)
    }
    const moved = await whileEventsCome(federation, browser.value(FRAMES(watchS * 1_000)))
    figures[name] = {
      firstPaintMs: median(opened.map(({ firstPaintMs }) => firstPaintMs)),
      completeMs: median(opened.map(({ completeMs }) => completeMs)),
      slowest: opened.at(-1)!.slowest,
      ...(moved as Pick<ViewFigures, 'framesPerSecond' | 'longestFrameMs'>),
    }
  }
  return figures
}

async function signIn(browser: Browser, product: Product): Promise<void> {
  const { userName, password } = cloudAccount(product.layout, 'weir-admin')
  await browser.open(`${product.origin.origin}/ui`)
  await browser.until('the form', `document.querySelector('[name=password]') !== null`)
  await browser.value(`(() => {
    document.querySelector('[name=name]').value = ${JSON.stringify(userName)}
    document.querySelector('[name=password]').value = ${JSON.stringify(password)}
    document.querySelector('form').requestSubmit()
  })()`)
  await browser.until('the first view', `document.querySelectorAll('.tile').length > 0`)
}

/** The result of `work`, during which a hundred events a second come. */
async function whileEventsCome(federation: Federation, work: Promise<unknown>): Promise<unknown> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await Promise.all([
      federation.change(EVENTS_PER_SECOND / BATCHES_PER_SECOND),
      sleep(1_000 / BATCHES_PER_SECOND),
    ])
  }
  return over
}
