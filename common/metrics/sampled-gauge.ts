import { Gauge, type Registry } from 'prom-client'

/** A value and its labels, in the order of their names. */
export type Sample = readonly [value: number, ...labels: readonly string[]]

export interface GaugeText {
  readonly name: string
  readonly help: string
  /** Absent: none. */
  readonly labels?: readonly string[]
}

/** A gauge all of whose series are replaced at each call of what is returned. */
export function sampledGauge(
  registry: Registry,
  { name, help, labels = [] }: GaugeText,
): (samples: readonly Sample[]) => void {
  const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [registry] })
  return (samples) => {
    gauge.reset()
    for (const [value, ...values] of samples)
      gauge.set(Object.fromEntries(labels.map((label, nth) => [label, values[nth] ?? ''])), value)
  }
}
