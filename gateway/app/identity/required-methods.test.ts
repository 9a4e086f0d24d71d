import { expect, test } from 'vitest'
import { fitsRules } from './issue-token.ts'

test.each([
  ['no rule', {}, true],
  ['a rule for the method', { multi_factor_auth_rules: [['password']] }, true],
  ['a rule for another', { multi_factor_auth_rules: [['application_credential']] }, false],
  [
    'one of two rules',
    { multi_factor_auth_rules: [['application_credential'], ['password']] },
    true,
  ],
  ['a rule for both', { multi_factor_auth_rules: [['password', 'token']] }, false],
  ['a method that is not there', { multi_factor_auth_rules: [['password', 'totp']] }, true],
  [
    'rules that do not hold',
    { multi_factor_auth_enabled: false, multi_factor_auth_rules: [['application_credential']] },
    true,
  ],
])('a login by password with %s', (_what, options, fits) => {
  expect(fitsRules(options, ['password'])).toBe(fits)
})
