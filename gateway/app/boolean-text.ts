const TRUE: ReadonlySet<string> = new Set(['1', 't', 'true', 'on', 'y', 'yes'])
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'false', 'off', 'n', 'no'])

/** The truth value OpenStack's clients mean by a word (oslo.utils `bool_from_string`); undefined for any other word. */
export function booleanText(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (TRUE.has(word)) return true
  return FALSE.has(word) ? false : undefined
}
