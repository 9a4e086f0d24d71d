import { cpus } from 'node:os'

export type Machine = Readonly<Record<string, string | number>>

/** What it was measured on. */
export function thisMachine(): Machine {
  const [cpu] = cpus()
  return { cpu: cpu?.model ?? 'unknown', cpus: `${cpus().length} CPUs`, node: process.version }
}
