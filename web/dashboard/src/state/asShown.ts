import { ApiError } from '../api/client';
import { refusalText, type Shown } from '../domain/review';

/** Decides; a refusal says which commissions are not as they were shown. */
export async function asShown<T>(shown: readonly Shown[], decide: () => Promise<T>): Promise<T> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof ApiError) || error.reasons.length === 0) throw error;
    throw new ApiError(error.status, refusalText(error.message, error.reasons, shown), error.code, undefined, error.reasons);
  }
}
