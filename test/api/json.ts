import type { Json } from './identity-world.ts'

/** A value a test knows to be text. */
export function textOf(value: Json | undefined): string {
  return value as unknown as string
}

/** A value a test knows to be a list of objects. */
export function listOf(value: Json | undefined): readonly Json[] {
  return value as unknown as readonly Json[]
}
