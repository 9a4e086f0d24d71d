type Compare = (difference: number) => boolean

const COMPARISONS: Readonly<Record<string, Compare>> = {
  '<': (difference) => difference < 0,
  '<=': (difference) => difference <= 0,
  '==': (difference) => difference === 0,
  '!=': (difference) => difference !== 0,
  '>=': (difference) => difference >= 0,
  '>': (difference) => difference > 0,
}
const CONDITION = /^(<=|>=|<|>|!=|==)\s*(\d{1,6})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?$/

/**
 * Whether a version, as Nova counts it (major * 1000000 + minor * 1000 + micro), meets all conditions of a list such as
 * `>=6.0, <8` (oslo.utils, VersionPredicate); undefined for text that is no such list.
 */
export function meetsVersions(version: number, conditions: string): boolean | undefined {
  let meets = true
  for (const condition of conditions.split(',')) {
    const [, operator, major, minor, micro] = CONDITION.exec(condition.trim()) ?? []
    if (operator === undefined) return undefined
    const wanted = Number(major) * 1_000_000 + Number(minor ?? 0) * 1_000 + Number(micro ?? 0)
    if (!COMPARISONS[operator]!(version - wanted)) meets = false
  }
  return meets
}
