/* The max-plus recursion over strips and nothing else: what the machine can do.
   States are 0 ... S-1; each has `length` controller classes. */
void steps(long n_steps, int S, int length, const double *weights, const double *frames,
           long n_frames, double *from, double *to)
{
    for (long t = 0; t < n_steps; t++) {
        const double *frame = frames + (t % n_frames) * S;
        for (int j = 0; j < S; j++) {
            double *restrict target = to + j * length;
            for (int k = 0; k < length; k++)
                target[k] = -1e300;
            for (int i = 0; i < S; i++) {
                const double *restrict source = from + i * length;
                const double w = weights[i * S + j];
                for (int k = 0; k < length; k++) {
                    const double value = source[k] + w;
                    target[k] = value > target[k] ? value : target[k];
                }
            }
            for (int k = 0; k < length; k++)
                target[k] += frame[j];
        }
        double *swap = from;
        from = to;
        to = swap;
    }
}
