import type { UserOptions } from './model.ts'

/** The ways to log in that there are here. */
const METHODS: ReadonlySet<string> = new Set(['password', 'token', 'application_credential'])

/**
 * True where a login by these methods fits one of the user's rules, or the user has none that holds. Methods that
 * are not there are passed over, so that no rule locks a user out for good (keystone/auth/core.py: `check_auth_methods_against_rules`).
 */
export function fitsRules(
  { multi_factor_auth_enabled: isEnabled = true, multi_factor_auth_rules: rules = [] }: UserOptions,
  methods: readonly string[],
): boolean {
  if (!isEnabled || rules.length === 0) return true
  return rules.some((rule) =>
    rule.every((method) => !METHODS.has(method) || methods.includes(method)),
  )
}
