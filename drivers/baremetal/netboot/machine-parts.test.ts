import { expect, test } from 'vitest'
import { machineParts } from './machine-parts.ts'

test('machineParts() reads a report and skips lines that describe no part', () => {
  const report = `cpus 2
cpu-model A fine CPU @ 2 GHz
architecture x86_64
memory-kib 2097151
disk sda 1000204886016
disk sdb lots
mac 52:54:00:12:34:56
mac not-a-mac
mac $(reboot)`

  expect(machineParts(report)).toEqual({
    cpus: 2,
    cpuModel: 'A fine CPU @ 2 GHz',
    architecture: 'x86_64',
    memoryMb: 2047,
    disks: [
      { name: 'sda', sizeBytes: 1000204886016 },
      { name: 'sdb', sizeBytes: 0 },
    ],
    macAddresses: ['52:54:00:12:34:56'],
  })
})

test.each(['', 'cpus 0\nmemory-kib 4096\narchitecture x86_64', 'cpus 2\nmemory-kib 4096'])(
  'machineParts() refuses what no machine can be made of: %j',
  (report) => expect(() => machineParts(report)).toThrow(/report is incomplete/),
)
