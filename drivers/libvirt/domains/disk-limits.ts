import { Failure } from '#common/errors.ts'

/** Most of bytes or operations a second that each disk of a guest may have, by libvirt's names; empty: no limit. */
export type DiskLimits = Readonly<Record<string, number>>

const LIMITS = ['read', 'write', 'total'].flatMap((way) =>
  ['bytes', 'iops'].map((unit) => ({ way, unit, name: `${way}_${unit}_sec` })),
)

/** The extra specs `quota:disk_…` of a flavor, which libvirt calls the same. */
export const DISK_LIMIT_SPECS: readonly string[] = LIMITS.map(({ name }) => `quota:disk_${name}`)

/** Throws `invalid` for a limit of all and one of reads or writes in the same unit: QEMU takes one of them. */
export function diskLimits(extraSpecs: Readonly<Record<string, string>>): DiskLimits {
  const limits = LIMITS.flatMap((limit) => {
    const key = `quota:disk_${limit.name}`
    const text = extraSpecs[key] ?? '0'
    if (!/^\d{1,15}$/.test(text))
      throw new Failure('invalid', `${key} is ${text}; it must be a whole number, 0 for no limit.`)
    return Number(text) === 0 ? [] : [{ ...limit, value: Number(text) }]
  })
  for (const { unit } of limits.filter(({ way }) => way === 'total'))
    if (limits.some((other) => other.unit === unit && other.way !== 'total'))
      throw new Failure(
        'invalid',
        `A flavor limits either quota:disk_total_${unit}_sec, or reads and writes by themselves.`,
      )
  return Object.fromEntries(limits.map(({ name, value }) => [name, value]))
}
