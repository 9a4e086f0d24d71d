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
  if (Value.Check(schema, content)) return content as Static<T>
  const problems = Value.Errors(schema, content)
    // The unknown property itself has an error, too, which says nothing.
    .filter(({ keyword }) => keyword !== 'boolean')
    .map(({ instancePath, message, keyword, params }) => {
      const where = instancePath === '' ? 'the file' : instancePath
      const what =
        keyword === 'additionalProperties'
          ? `must not have ${(params as { additionalProperties: string[] }).additionalProperties.join(', ')}`
          : message
      return `${setting}: ${file}: ${where} ${what}`
    })
  throw new SettingsError(problems)
}
