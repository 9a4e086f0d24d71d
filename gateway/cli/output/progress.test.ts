import { expect, test } from 'vitest'
import { Progress } from './progress.ts'

function shownOn(isTTY: boolean): string {
  let written = ''
  const progress = new Progress({ isTTY, write: (text) => (written += text) })
  progress.show('4 remaining', 0, 4)
  progress.show('4 remaining', 0, 4)
  progress.show('1 remaining', 3, 4)
  progress.end()
  return written
}

test('progress is one line that is rewritten on a terminal, and a line per change elsewhere', () => {
  expect(shownOn(false)).toBe('4 remaining\n1 remaining\n')
  expect(shownOn(true)).toBe(
    '\r\u001b[K░░░░░░░░░░   0%  4 remaining\r\u001b[K████████░░  75%  1 remaining\n',
  )
})
