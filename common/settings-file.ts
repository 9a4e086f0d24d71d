import { readFileSync } from 'node:fs'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { SettingsError } from './env.ts'

/** The JSON in the file that `setting` names. Throws `SettingsError`, which names the setting, the file and each wrong value. */
export function readSettingsFile<T extends TSchema>(
  setting: string,
  file: string,
  schema: T,
): Static<T> {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new SettingsError([`${setting}: ${file} cannot be read: ${String(error)}`])
  }
  return checkedSettings({ setting, file, at: '' }, schema, content)
}

/** Where in a file of settings something stands: `at` is the JSON pointer to it. */
export interface SettingsPlace {
  readonly setting: string
  readonly file: string
  readonly at: string
}

/** The content of a settings file, or a part, where it is as `schema` says. Throws `SettingsError`, which names each wrong value. */
export function checkedSettings<T extends TSchema>(
  { setting, file, at }: SettingsPlace,
  schema: T,
  content: unknown,
): Static<T> {
  if (Value.Check(schema, content)) return content as Static<T>
  const problems = Value.Errors(schema, content)
    // The unknown property itself has an error, too, which says nothing.
    .filter(({ keyword }) => keyword !== 'boolean')
    .map(({ instancePath, message, keyword, params }) => {
      const path = `${at}${instancePath}`
      const where = path === '' ? 'the file' : path
      const what =
        keyword === 'additionalProperties'
          ? `must not have ${(params as { additionalProperties: string[] }).additionalProperties.join(', ')}`
          : message
      return `${setting}: ${file}: ${where} ${what}`
    })
  throw new SettingsError(problems)
}
