import { Failure } from '#common/errors.ts'
import type { MachineParts } from '../../nodes.ts'

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/
const KIB_PER_MIB = 1024

/**
 * From a ramdisk's report: a line per part, `cpus 2`, `cpu-model …`, `architecture x86_64`, `memory-kib 2048`,
 * `disk sda 1024` in bytes, `mac 52:54:…`. Throws `invalid` for one that does not name what every machine has.
 */
export function machineParts(report: string): MachineParts {
  const lines = report.split('\n').map((line) => line.trim())
  const all = (part: string) =>
    lines.filter((line) => line.startsWith(`${part} `)).map((line) => line.slice(part.length + 1))
  const parts = {
    cpus: count(all('cpus')[0]),
    cpuModel: all('cpu-model')[0] ?? '',
    architecture: all('architecture')[0] ?? '',
    memoryMb: Math.floor(count(all('memory-kib')[0]) / KIB_PER_MIB),
    disks: all('disk').map((disk) => {
      const [name = '', size] = disk.split(' ')
      return { name, sizeBytes: count(size) }
    }),
    macAddresses: all('mac').filter((mac) => MAC.test(mac)),
  }
  if (parts.cpus === 0 || parts.memoryMb === 0 || parts.architecture === '')
    throw new Failure('invalid', 'The machine’s inspection report is incomplete.', {
      detail: report,
    })
  return parts
}

function count(text: string | undefined): number {
  const value = Number(text)
  return Number.isSafeInteger(value) && value > 0 ? value : 0
}
