import type { Snapshot } from '../driver.ts'
import type { FakeHost } from './host.ts'

const SECTOR = 512

/** A disk of a simulated guest holds a line that names it. */
export function fakeSnapshot(host: FakeHost): Snapshot {
  return {
    take: (id, signal) =>
      host.changeSlowly('snapshot', id, signal, () => {
        const { displayName, image } = host.guests.get(id)
        const disk = Buffer.alloc(SECTOR)
        disk.write(`fake disk of ${displayName}, made from ${image}, uuid ${id}`)
        return {
          diskFormat: 'raw' as const,
          sizeBytes: disk.length,
          async *content() {
            yield disk
          },
          [Symbol.asyncDispose]: async () => {},
        }
      }),
  }
}
