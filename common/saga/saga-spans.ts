import type { SpanStart } from '../trace/span.ts'
import type { SagaRecord } from './log.ts'

/** The span of a step, or of its undo; `tries`: how often this process has begun it, this time included. */
export function stepSpan(
  { id, name, subject }: SagaRecord,
  step: string,
  { tries = 1, isUndo = false }: { readonly tries?: number; readonly isUndo?: boolean } = {},
): SpanStart {
  return {
    name: `${name} ${isUndo ? 'undo ' : ''}${step}`,
    kind: 'internal',
    attributes: {
      'weir.saga.id': id,
      'weir.saga.name': name,
      'weir.saga.step': step,
      'weir.saga.subject': subject,
      'weir.saga.try': tries,
    },
  }
}

/** The span of a transaction with all that is done in it, its repeats included. */
export const TRANSACTION_SPAN: SpanStart = {
  name: 'transaction',
  kind: 'client',
  attributes: { 'db.system.name': 'mariadb', 'db.operation.name': 'transaction' },
}
