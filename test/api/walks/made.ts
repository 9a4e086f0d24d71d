import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'

/** Objects by the parameter that names them. */
export type Ids = Readonly<Record<string, string>>

/** What users name is called this. */
export const NAMED = 'sample'

/** What most calls make. */
export interface Identified {
  readonly id: string
}

/** What a call that must succeed made, under its one key or without any. */
export async function made<Made>(
  client: ApiClient,
  method: 'POST' | 'PUT',
  path: string,
  body: object,
  version: Microversion = '2.90',
): Promise<Made> {
  const { status, body: answer } = await client.call<Made & Record<string, Made>>(
    method,
    path,
    body,
    { version },
  )
  if (status >= 300) throw new Error(`${path} answered ${status}: ${JSON.stringify(answer)}`)
  const [key = '', ...others] = Object.keys(body)
  return others.length === 0 && answer?.[key] !== undefined ? answer[key] : answer
}
