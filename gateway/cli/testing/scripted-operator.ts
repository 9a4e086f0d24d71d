import type { Ending } from '../exit-codes.ts'
import type { Operator } from '../operator.ts'

/** An operator at no terminal, with nothing around; what was written can be read. */
export interface ScriptedOperator extends Operator {
  readonly written: { out: string; err: string; ending: Ending }
}

export function scriptedOperator(change: Partial<Operator> = {}): ScriptedOperator {
  const written: ScriptedOperator['written'] = { out: '', err: '', ending: 'ok' }
  return {
    env: {},
    directory: '/nowhere',
    home: '/nowhere',
    local: { file: '/nowhere/clouds.yaml', name: 'weir-admin' },
    out: { write: (text) => (written.out += text) },
    err: { write: (text) => (written.err += text) },
    secret: () => Promise.resolve(''),
    localFiles: () => Promise.resolve([]),
    logLines: () => Promise.resolve([]),
    forgetCell: () => Promise.resolve(),
    retireCell: () => Promise.resolve(),
    endsAs: (ending) => {
      written.ending = ending
    },
    ...change,
    written,
  }
}
