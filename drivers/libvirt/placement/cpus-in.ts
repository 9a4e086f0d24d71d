import { cpuList } from './cpu-settings.ts'

/** The numbers in a set of CPUs or nodes. libvirt writes `0-3,^2`: the ones with a caret are left out. */
export function cpusIn(cpuset: string): readonly number[] {
  const parts = cpuset.split(',').filter((part) => part !== '')
  const out = parts.filter((part) => part.startsWith('^')).map((part) => Number(part.slice(1)))
  const named = parts.filter((part) => !part.startsWith('^'))
  return named.flatMap((part) => cpuList(part)).filter((cpu) => !out.includes(cpu))
}
