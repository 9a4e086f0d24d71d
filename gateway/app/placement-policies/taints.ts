import type { Taint } from '../../db/cell-mappings.ts'
import type { Toleration } from '../../db/placement-policies.ts'

/** True where one of them names the taint's key, and its value and effect or none. */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(
    ({ key, value, effect }) =>
      key === taint.key &&
      (value === null || value === taint.value) &&
      (effect === null || effect === taint.effect),
  )
}

/** As operators write it, and Kubernetes does: `key=value:effect`. */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`
}
