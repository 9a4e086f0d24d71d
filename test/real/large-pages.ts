import { readFileSync, writeFileSync } from 'node:fs'

const WANTED_FILE = '/proc/sys/vm/nr_hugepages'

/** Of the machine's pages of 2 MiB, or as large as its usual large ones are. */
export function largePages(): {
  readonly kib: number
  readonly total: number
  readonly free: number
} {
  const text = readFileSync('/proc/meminfo', 'utf8')
  const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1])
  return {
    kib: figure('Hugepagesize'),
    total: figure('HugePages_Total'),
    free: figure('HugePages_Free'),
  }
}

/** The machine has so many free large pages until disposed; undefined where its kernel gives none, which in CI is an error. */
export function takeLargePages(count: number): Disposable | undefined {
  const before = readFileSync(WANTED_FILE, 'utf8')
  const putBack = () => writeFileSync(WANTED_FILE, before)
  try {
    writeFileSync(WANTED_FILE, String(Number(before) + count))
    if (largePages().free >= count) return { [Symbol.dispose]: putBack }
  } catch (error) {
    if (process.env['CI'] === 'true') throw error
    return undefined
  }
  putBack()
  if (process.env['CI'] === 'true') throw new Error(`The kernel gives no ${count} large pages`)
  return undefined
}
