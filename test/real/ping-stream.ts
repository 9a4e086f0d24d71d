import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'

/** Between two pings. */
export const PING_EVERY_MS = 50
const LIMIT_MS = 60_000

export interface PingLosses {
  readonly sent: number
  readonly lost: number
  /** How long no ping was answered at the most, to the interval of the pings. */
  readonly longestMs: number
}

/** One ping every 50 ms. */
export interface PingStream {
  /** Resolves once this many further pings were answered, which were sent after now. */
  goesOn(count?: number): Promise<void>
  /** Ends the stream; returns the pings before the last answer that were lost. */
  stop(): Promise<PingLosses>
}

/** Afterwards pings of the address are sent by commands that `inside` runs, and the first was answered. */
export async function startPingStream(
  inside: (command: string, ...args: string[]) => Promise<string>,
  directory: string,
  address: string,
): Promise<PingStream> {
  const file = join(directory, 'replies')
  const ping = `busybox ping -i ${PING_EVERY_MS / 1_000} ${address}`
  const pid = (await inside('sh', '-c', `${ping} >${file} 2>&1 & echo $!`)).trim()
  const answered = async () =>
    [...(await readFile(file, 'utf8')).matchAll(/seq=(\d+)/g)].map(([, seq]) => Number(seq))
  const startedAt = performance.now()
  const goesOn = async (count = 10) => {
    const next = Math.ceil((performance.now() - startedAt) / PING_EVERY_MS)
    const isOn = async () => (await answered()).filter((seq) => seq >= next).length >= count
    await waitFor(`pings of ${address} to be answered`, isOn, LIMIT_MS)
  }
  await goesOn(1)
  return {
    goesOn,
    stop: async () => {
      await inside('kill', '-INT', pid)
      return lossesOf(await answered())
    },
  }
}

/** What was lost, by the numbers of the pings that were answered. */
export function lossesOf(answered: readonly number[]): PingLosses {
  const seen = [...new Set(answered)].toSorted((a, b) => a - b)
  const sent = (seen.at(-1) ?? -1) + 1
  const gaps = seen.map((seq, index) => seq - (seen[index - 1] ?? -1) - 1)
  return { sent, lost: sent - seen.length, longestMs: Math.max(0, ...gaps) * PING_EVERY_MS }
}
