import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Operator } from '../operator.ts'

const PASSWORD_VARIABLE = 'WEIR_BMC_PASSWORD'

/**
 * The password of a BMC: from the file named, else from the environment, else as it is typed or comes in at standard
 * input. Never from the command line, which everybody on the machine can read.
 */
export async function bmcPassword(operator: Operator, file: string | undefined): Promise<string> {
  if (file !== undefined)
    return (await readFile(resolve(operator.directory, file), 'utf8')).replace(/\r?\n$/, '')
  return operator.env[PASSWORD_VARIABLE] ?? operator.secret('Password of the BMC: ')
}
